"""Lazy associative classification (Veloso et al. 2006, Davis et al. 2012), for whatever is judged by few examples."""
