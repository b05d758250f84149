"""How submissions are judged, told to those whose submissions are."""
