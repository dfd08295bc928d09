"""The backward error of `lcp.kernels.backward_error` for compressed rows: the same rules, entry by entry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lcp.arrays import Vector


def sparse_backward_error(M: Any, q: Vector, noise: Vector, lo: Vector, hi: Vector, z: Vector) -> float:
    """As the kernel, for M in CSR."""
    from lcp.kernels.backward_error import TINY

    if not z.shape[0]:
        return 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        measured = _Measured.of(M, q, noise, lo, hi, z)
        if not (np.isfinite(measured.w).all() and np.isfinite(measured.terms).all()):
            return float(np.inf)
        error = measured.error(noise, lo, hi, z)
        kept, dropped = measured.without_dust(lo, hi, z) if error > TINY else (z, -1.0)
        if dropped < 0.0:
            return error
        return min(error, max(dropped, _Measured.of(M, q, noise, lo, hi, kept).error(noise, lo, hi, kept)))


@dataclass(frozen=True, eq=False)
class _Measured:
    """Rows at z: w, their terms and loads; and the entries that z meets."""

    M: Any
    w: Vector
    terms: Vector
    loads: Vector
    #: row, column, size: Places and |M_ij z_j| of the entries that are not zero.
    row: NDArray[np.intp]
    column: NDArray[np.intp]
    size: Vector

    @classmethod
    def of(cls, M: Any, q: Vector, noise: Vector, lo: Vector, hi: Vector, z: Vector) -> _Measured:
        from lcp.kernels.accurate_residual import sum_twice
        from lcp.kernels.backward_error import EPS, HEARD

        magnitude = abs(M)
        terms = magnitude @ np.abs(z) + np.abs(q)
        loads = np.where(np.abs(q) > noise, np.abs(q), 0.0)
        loads += magnitude @ np.where((z == lo) | (z == hi), np.abs(z), 0.0)
        w = np.asarray(M @ z + q)
        for k in np.flatnonzero((loads > 0.0) & (np.diff(M.indptr) * EPS * terms > HEARD * loads)):
            entries = slice(M.indptr[k], M.indptr[k + 1])
            w[k] = sum_twice(M.data[entries], np.ascontiguousarray(z[M.indices[entries]]), float(q[k]))
        row, column = np.repeat(np.arange(q.shape[0]), np.diff(M.indptr)), M.indices
        size = np.abs(M.data * z[column])
        met = size > 0.0
        return cls(M, w, terms, loads, row[met], column[met], size[met])

    def error(self, noise: Vector, lo: Vector, hi: Vector, z: Vector) -> float:
        """The backward error of z as it is."""
        from lcp.kernels.backward_error import EXCUSABLE, LOADLESS, ROUNDED, reach

        w, terms, loads = self.w, self.terms, self.loads
        miss = np.maximum(np.abs(w) - noise, 0.0)
        part = np.divide(miss, terms, out=np.zeros_like(miss), where=miss > 0.0)
        run_away = ~self._all_heard()
        spoilt = (loads > 0.0) & (miss > EXCUSABLE * loads) & (run_away | (part > ROUNDED))
        part[spoilt] = np.maximum(part[spoilt], miss[spoilt] / loads[spoilt])
        part[(loads == 0.0) & run_away] *= LOADLESS
        above, below = z - lo, z - hi
        # What rests on the bound that the sign of its row asks for has nothing to answer for.
        part[((above == 0.0) & (w > 0.0)) | ((below == 0.0) & (w < 0.0))] = 0.0
        columns = None
        worst = 0.0
        # From the largest on: most others cannot be worse than what is found then.
        for i in np.argsort(-np.where((above < 0.0) | (below > 0.0), np.inf, part)):
            if part[i] <= worst and above[i] >= 0.0 and below[i] <= 0.0:
                break
            columns = self.M.tocsc() if columns is None else columns
            place = slice(columns.indptr[i], columns.indptr[i + 1])
            rows = columns.indices[place]
            column = np.ascontiguousarray(columns.data[place])[:, None]
            low, high = (
                reach(column, 0, *pair, noise[rows], terms[rows], loads[rows], np.inf)
                for pair in ((above[i], lo[i], hi[i] - lo[i]), (below[i], hi[i], hi[i] - lo[i]))
            )
            worst = max(worst, abs(max(high, min(low, np.copysign(part[i], w[i])))))
        return float(worst)

    def _all_heard(self) -> NDArray[np.bool_]:
        """Rows in which every unknown with a say is of a size that loads determine."""
        from scipy import sparse
        from scipy.sparse.csgraph import connected_components

        from lcp.kernels.backward_error import HEARD

        has_say = self.size > HEARD * self.terms[self.row]
        row, column = self.row[has_say], self.column[has_say]
        n = self.w.shape[0]
        # Rows and unknowns, joined where one has a say in the other: a load reaches all that hang together.
        joined = sparse.coo_array((np.ones(row.shape[0]), (row, n + column)), shape=(2 * n, 2 * n))
        part = connected_components(joined, directed=False)[1]
        reached = np.zeros(2 * n, dtype=bool)
        reached[part[:n][self.loads > HEARD * self.terms]] = True
        whole = np.ones(n, dtype=bool)
        whole[row[~reached[part[n + column]]]] = False
        return whole

    def without_dust(self, lo: Vector, hi: Vector, z: Vector) -> tuple[Vector, float]:
        """z with its dust put to zero, and the largest part of a row that this was; negative where there was none."""
        from lcp.kernels.backward_error import DUST, EXCUSABLE

        load = self.loads[self.row]
        limit = np.minimum(DUST * self.terms[self.row], np.where(load > 0.0, EXCUSABLE * load, np.inf))
        small = self.size <= limit
        dust = np.zeros(z.shape[0], dtype=bool)
        dust[self.column[small]] = True
        dust &= (lo <= 0.0) & (hi >= 0.0)
        while True:
            full = self.loads > 0.0
            full[self.row[~dust[self.column]]] = True
            kept = dust.copy()
            kept[self.column[~small & full[self.row]]] = False
            if (kept == dust).all():
                parts = (self.size / self.terms[self.row])[dust[self.column] & full[self.row]]
                return np.where(dust, 0.0, z), float(parts.max(initial=-1.0))
            dust = kept
