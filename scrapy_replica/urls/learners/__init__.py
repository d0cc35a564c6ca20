"""The learner of DUST rules: candidates, the contexts in which they hold, the smallest precise set of them."""
