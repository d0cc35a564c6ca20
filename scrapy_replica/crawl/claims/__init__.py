"""Claims at work: how they are tested, and what follows when one ends."""
