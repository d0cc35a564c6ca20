"""MirrorBench: closed webs of mirrors and near misses, made by a script, to score any crawler or method on."""
