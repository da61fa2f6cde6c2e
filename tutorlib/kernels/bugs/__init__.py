"""Broken kernels that colleagues sent: notebook 21 finds out what is wrong with each."""
