"""Finds the choices that reproduce an answer, without trying all of their combinations.

Every operator has a few options, and an evaluation tells how far the answer is from the one
wanted. From the nearest of some starting points, the best single move is followed, or as many of
the moves that help alone as help together, until none does. A move changes all operators alike
(one line of a program wrote them), or one of them. At last pairs of moves are tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, islice

from msgspec import Struct, field

from onnxpad.frameworks.repadding.comparing import Trial

Point = tuple[int, ...]
"""The index of the option of every operator."""
Move = tuple[tuple[int, int], ...]
"""(operator, option) for each operator that it changes."""

TIERS = 3
"""How many tiers of options there are."""
_STARTS = 6
"""Starting points from which moves are followed."""
_NEARER = 0.8
"""The share of an error below which a move is followed before less likely ones are tried."""
_MOST_PAIRS = 1_000
"""Pairs of moves of each tier that are tried in the end."""
_ROUNDING = 1e-7
"""An error that tells nothing."""


class Space(Struct, frozen=True):
    """The options of all operators: for each, the tiers of its options (0 the likeliest), if any.

    Groups are operators that are alike, so that equal indices are equal options. `is_alike` says
    whether two options of an operator compute the same at a point.
    """

    tiers: tuple[tuple[int, ...], ...]
    groups: tuple[tuple[int, ...], ...]
    is_alike: Callable[[Point, int, int, int], bool] = lambda point, each, one, other: one == other

    def moves(self, point: Point, tier: int) -> Iterator[Move]:
        """The moves up to a tier, perhaps twice: of whole groups, and then of single operators."""
        for group in (*self.groups, *((each,) for each in range(len(self.tiers)))):
            mine = [each for each in group if self.tiers[each]]
            for option, rank in enumerate(self.tiers[mine[0]] if mine else ()):
                some = (e for e in mine if not self.is_alike(point, e, point[e], option))
                move = tuple((each, option) for each in some)
                if move and not (option and rank > tier):
                    yield move


class Search(Struct):
    """One search for a point: evaluates some of a space until it is over."""

    evaluate: Callable[[Point], Trial]
    space: Space
    is_over: Callable[[], bool]
    _known: dict[Point, Trial] = field(default_factory=dict)

    def trial(self, point: Point) -> Trial:
        """The evaluation of a point; each is made once."""
        if point not in self._known:
            self._known[point] = self.evaluate(point)
        return self._known[point]

    def run(self, starts: Sequence[Point]) -> Point:
        """The best point found from some, of which the first is the model's."""
        tried = [*dict.fromkeys(starts)]
        last = next((at for at, start in enumerate(tried) if self._ends(start)), len(tried))
        tried = sorted(tried[: last + 1], key=self._rank)
        best = tried[0]
        for start in dict.fromkeys((*tried[:_STARTS], starts[0])):
            if self._ends(best):
                return best
            point, nearer = start, self._next(start)
            while nearer != point and not self._ends(nearer):
                point, nearer = nearer, self._next(nearer)
            best = min(best, nearer, key=self._rank)
        return self._two(starts[0], best)

    def pruned(self, point: Point) -> Point:
        """A right point with as many operators as they were as it stays right with.

        What fits clearly worse is not right, though it be within what is allowed.
        """
        most = 2 * self.trial(point).error + _ROUNDING
        for each, option in enumerate(point):
            if option and self.space.tiers[each] and not self.is_over():
                without = _joined(point, [((each, 0),)])
                found = self.trial(without)
                point = without if found.solved and found.error <= most else point
        return point

    def _rank(self, point: Point) -> tuple[bool, float, float]:
        return self.trial(point).rank

    def _ends(self, point: Point) -> bool:
        return self.trial(point).solved or self.is_over()

    def _next(self, point: Point) -> Point:
        """The best point by one move, or by several that explain most; the same if none helps.

        Likelier moves come first: others are left out where one of these brings clearly nearer.
        """
        now, best, seen = self.trial(point), point, dict[Move, Trial]()
        for tier in range(TIERS):
            for move in self.space.moves(point, tier):
                if move not in seen:
                    target = _joined(point, [move])
                    seen[move] = self.trial(target)
                    best = min(best, target, key=self._rank)
                    if self._ends(target):
                        return best
            fitting = _by_fit(now, seen)
            while len(fitting) > 1 and not self.trial(best).solved:
                best = min(best, _joined(point, fitting), key=self._rank)
                fitting = fitting[: len(fitting) // 2]
            found = self.trial(best)
            if found.gap < now.gap or found.error < _NEARER * now.error:
                break
        return best

    def _two(self, first: Point, best: Point) -> Point:
        """The best of many pairs of moves from the first point, likely ones first.

        Moves that alone give outputs of other sizes come first: two of two branches mend together.
        """

        def fits(move: Move) -> bool:
            known = self._known.get(_joined(first, [move]))
            return known is None or known.missing is not None

        for tier in range(TIERS):
            moves = sorted(dict.fromkeys(self.space.moves(first, tier)), key=fits)
            apart = (p for p in combinations(moves, 2) if not dict(p[0]).keys() & dict(p[1]))
            for pair in islice(apart, _MOST_PAIRS):
                if self._ends(best):
                    return best
                best = min(best, _joined(first, pair), key=self._rank)
        return best


def _joined(point: Point, moves: Iterable[Move]) -> Point:
    changed = {each: option for move in moves for each, option in move}
    return tuple(changed.get(each, option) for each, option in enumerate(point))


def _by_fit(now: Trial, seen: Mapping[Move, Trial]) -> list[Move]:
    if (left := now.missing) is None:
        return []
    found = {move: then.missing for move, then in seen.items()}
    effects = {move: left - missing for move, missing in found.items() if missing is not None}
    order = list[Move]()
    while effects:
        gains = {m: 2 * float(e @ left) - float(e @ e) for m, e in effects.items()}
        best = max(gains, key=gains.__getitem__)
        if not gains[best] > 0:
            break
        order.append(best)
        left, taken = left - effects[best], dict(best).keys()
        effects = {move: effect for move, effect in effects.items() if not taken & dict(move)}
    return order
