"""From a posted source to a verdict: submissions, their attempts, and what runners say of them."""
