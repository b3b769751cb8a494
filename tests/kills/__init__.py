"""Commands killed at random moments: nothing is lost, and nothing is counted twice.

``make kills`` does it 500 times, the test suite 20 times.
"""
