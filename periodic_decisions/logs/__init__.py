"""Logs of decisions: what they say of a policy that did not make them.

A log has one arm a row: when it was chosen, what it brought and, at best, with what probability it
was chosen. Nobody knows what the other arms would have brought, so a policy is judged off-policy:
by the rows in which it agrees with the log, weighed by how likely these were, and by a model of the
rest. Where the log cannot tell, a ``LogError`` says so.
"""
