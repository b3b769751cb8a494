"""Run the protocol, and write the page."""

from studies.peers.study import main

main()
