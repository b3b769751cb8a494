"""What was learned from Madrid's measurements: a prior, a simulator, and how close that is."""
