"""Commands killed at random moments: no result is lost and none is counted twice."""
