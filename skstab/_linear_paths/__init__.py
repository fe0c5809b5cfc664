"""Paths of sparse linear models; numeric kernels that know neither runs nor selectors."""
