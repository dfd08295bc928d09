"""Drawing kernels: rasterisation and shading of triangles."""
