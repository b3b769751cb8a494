"""Logs of decisions: estimates of policies that did not make them.

A log has one arm a row: its time, its reward and, at best, the probability of its choice. The
rewards of the other arms are unknown, so a policy is judged off-policy: by the rows in which it
agrees with the log, weighted by their probability, and by a model of the rest. Where the log
cannot tell, a ``DecisionLogError`` is raised.
"""
