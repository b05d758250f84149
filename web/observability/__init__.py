"""What an operator can see of a running site: metrics, and one line a request in the logs."""
