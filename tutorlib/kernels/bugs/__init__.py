"""Broken kernels that colleagues sent: notebook 18 finds out what is wrong with each."""
