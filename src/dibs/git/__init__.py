"""Run git safely and read its output. Contains no Dibs rules; only ``run`` starts git processes."""
