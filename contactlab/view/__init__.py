"""Show worlds, runs and results: pictures, plots, the viewer and the tour in the browser."""
