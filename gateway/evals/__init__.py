"""The evaluation command: recall and refusal over one's own questions."""
