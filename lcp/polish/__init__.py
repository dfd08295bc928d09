"""From an approximate answer to an exact one: active sets guessed, solved and judged, in 16 digits and in 32."""
