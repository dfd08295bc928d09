"""Complementarity of nonlinear functions: `lcp.NCP` and `lcp.MCP`."""
