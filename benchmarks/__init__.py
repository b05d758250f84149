"""Studies of the judge itself: what its constants rest on, how steady and how quick it is."""
