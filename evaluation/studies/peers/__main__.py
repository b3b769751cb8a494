"""Run the protocol, and write the page."""

from evaluation.studies.peers.study import main

main()
