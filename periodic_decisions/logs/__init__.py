"""Off-policy evaluation from logs of decisions.

Each row of a log has a time, the chosen arm, its reward and, preferably, the probability of the
choice. The rewards of other arms are unknown, so a policy is evaluated from the rows in which it
agrees with the log, weighted by inverse probability, and from a model of the rewards. A
``DecisionLogError`` is raised if the log does not support an estimate.
"""
