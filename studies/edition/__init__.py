"""An edition of the leaderboard as a page of the site.

    python -m studies.edition [--docs docs] [--folder leaderboard] [--edition NAME]

Nothing is run: every figure is of the edition's folder, which anybody can check
(``periodic-gp leaderboard check``). The ranking is that of ``periodic-gp leaderboard build``;
beside it stands what the same agents came to on hidden seeds. With ``--docs`` the page
DOCS/edition.md is written, which is only printed else.
"""
