"""Run git safely and read its output. Contains no rules of Dibs; only ``run`` starts git processes."""
