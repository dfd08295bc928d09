"""The two lists that tell sliding contacts from non-sliding ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from problem_data.errors import ProblemDataError
from problem_data.validation import IntArray, whole_numbers

SLIDING = "sliding_contacts"
NON_SLIDING = "non_sliding_contacts"


def split_contacts(sliding: ArrayLike | None, non_sliding: ArrayLike | None, nc: int) -> tuple[IntArray, IntArray]:
    """Both lists, each ascending, which together name every one of nc contacts once.

    A missing list is the complement of the other one; without both, no contact slides.
    """
    slides = None if sliding is None else _ascending(SLIDING, sliding, nc)
    rests = None if non_sliding is None else _ascending(NON_SLIDING, non_sliding, nc)
    everything = np.arange(nc, dtype=np.int64)
    if slides is None:
        slides = np.zeros(0, dtype=np.int64) if rests is None else np.setdiff1d(everything, rests)
    if rests is None:
        rests = np.setdiff1d(everything, slides)
    both = np.intersect1d(slides, rests)
    if both.size:
        contact = int(both[0])
        i, j = int(np.searchsorted(slides, contact)), int(np.searchsorted(rests, contact))
        raise ProblemDataError(NON_SLIDING, f"{NON_SLIDING}[{j}] = {contact} is also {SLIDING}[{i}]")
    neither = np.setdiff1d(everything, np.concatenate((slides, rests)))
    if neither.size:
        raise ProblemDataError(
            NON_SLIDING, f"contact {neither[0]} is missing; it is not in {SLIDING} either (nc = {nc})"
        )
    return slides, rests


def _ascending(field: str, value: ArrayLike, nc: int) -> IntArray:
    contacts = whole_numbers(field, value, None, "the index of a contact")
    outside = contacts >= nc
    if outside.any():
        i = int(np.argmax(outside))
        wanted = f"a contact from 0 to {nc - 1}" if nc else "no entries, as there are no contacts"
        raise ProblemDataError(field, f"{field}[{i}] = {contacts[i]}, wanted {wanted} (shape {contacts.shape})")
    disorder = np.diff(contacts) <= 0
    if disorder.any():
        i = int(np.argmax(disorder))
        raise ProblemDataError(
            field,
            f"{field}[{i + 1}] = {contacts[i + 1]} after {field}[{i}] = {contacts[i]}, wanted an ascending list "
            f"(shape {contacts.shape})",
        )
    return contacts
