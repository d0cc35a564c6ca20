"""How well each part does, beside its peers, on labelled data: one module per question."""
