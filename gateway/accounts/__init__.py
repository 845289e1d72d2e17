"""People, agents and links; gathers what the scope rule intersects."""
