"""The weighted sum that brings tokens back from their experts, backward."""
