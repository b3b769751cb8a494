"""Small faults planted in the code one by one: a test should see each of them."""
