"""Finds the choices that reproduce an answer, without trying all of their combinations.

Every operator has a few options, and an evaluation tells how far the answer is from the one
wanted. Near a point, the effects of single moves on the answer add up, roughly. So each round
evaluates every single move, picks those whose effects together explain what is missing, and tries
them together. Moves are those of all operators alike (one line of a program wrote them), and those
of one operator. Where no move helps, pairs are tried, then other starting points, every single
move, and many pairs.

The search ends early where all answers are as far off as those of another model are.

The number of evaluations of a round is that of the moves. Combinations are enumerated only where
there are few of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, islice, product

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

Point = tuple[int, ...]
"""The index of the option of every operator."""
Move = tuple[tuple[int, int], ...]
"""(operator, option) for each operator that it changes."""

_STARTS = 6
"""Starting points from which moves are followed."""
_FAR = 400
"""Evaluations of which one has to be nearer than an unrelated answer is."""
_CLEARLY = 0.7
"""The share of the model's own error below which another starting point is followed first."""
_AGAIN = 12
"""Moves of the last round that are tried before all others."""
_FEW = 250
"""The number of combinations of likely options that are all tried."""
_BATCH = 40
"""Moves tried before the best of them is followed."""
_PAIRED = 30
"""Pairs that are tried where no single move helps."""
_NEARER = 0.8
"""The share of an error below which a move is followed before all others are tried."""
_MOST_PAIRS = 2_000
"""Pairs of moves of each tier that are tried in the end, whatever they promise."""
_ROUNDING = 1e-7
"""An error that tells nothing."""
_BETTER = 1e-6
"""The share by which an error must become smaller to count."""


class Trial(Struct, frozen=True):
    """The evaluation of one point.

    Attributes:
        solved: Whether it reproduces the answer.
        gap: How far the shapes of the outputs are from those wanted; 0 where they are right, and
            greater than any other where the model does not run, the less the further it gets.
        error: The root mean square of what is missing; infinite without comparable outputs.
        missing: The answer wanted less the one found, in a fixed order; None where not comparable.
        greatest: The greatest difference, relative to the range of its output.
    """

    solved: bool
    gap: float
    error: float
    missing: npt.NDArray[np.float64] | None
    greatest: float = math.inf

    @property
    def rank(self) -> tuple[bool, float, float]:
        """A key by which the better of two trials is the smaller one."""
        return not self.solved, self.gap, self.error


Evaluate = Callable[[Point], Trial]
Effect = npt.NDArray[np.float64] | None
"""The change of the answer by a move; None where the answers cannot be compared."""


class Space(Struct, frozen=True):
    """The options of all operators.

    Attributes:
        tiers: For each operator, the tier of each option but the first (0 the likeliest).
        groups: Operators that are alike, so that equal indices are equal options.
        is_alike: Whether two options of an operator compute the same at a point.
    """

    tiers: tuple[tuple[int, ...], ...]
    groups: tuple[tuple[int, ...], ...]
    is_alike: Callable[[Point, int, int, int], bool] = lambda point, each, one, other: one == other

    @property
    def deepest(self) -> int:
        """The greatest tier."""
        return max((rank for tiers in self.tiers for rank in tiers), default=0)

    def likely(self, point: Point, free: frozenset[int]) -> Iterator[Point]:
        """All combinations of likely options, if they are few: of all operators, or of groups."""
        apart = tuple((each,) for each in range(len(self.tiers)))
        grouped = {each for group in self.groups for each in group}
        rest = tuple(alone for alone in apart if alone[0] not in grouped)
        for groups in (apart, (*self.groups, *rest)):
            choices = []
            for group in groups:
                mine = [each for each in group if each in free]
                options = self._likely(point, mine[0]) if mine else []
                if len(options) > 1:
                    choices.append([tuple((each, option) for each in mine) for option in options])
            if math.prod(map(len, choices)) <= _FEW:
                for moves in product(*choices):
                    yield _joined(point, moves)
                return

    def _likely(self, point: Point, each: int) -> list[int]:
        """The likely options of an operator that compute different things; its own one first."""
        found = [point[each]]
        for option, rank in enumerate(self.tiers[each]):
            if rank == 0 and not any(self.is_alike(point, each, one, option) for one in found):
                found.append(option)
        return found

    def moves(self, point: Point, tier: int, free: frozenset[int]) -> Iterator[Move]:
        """The moves up to a tier: of groups as a whole, and then of single operators."""
        given_out: set[Move] = set()
        for group in (*self.groups, *((each,) for each in range(len(self.tiers)))):
            mine = [each for each in group if each in free]
            if not mine:
                continue
            for option, rank in enumerate(self.tiers[mine[0]]):
                move = tuple(
                    (each, option)
                    for each in mine
                    if not self.is_alike(point, each, point[each], option)
                )
                if move and (option == 0 or rank <= tier) and move not in given_out:
                    given_out.add(move)
                    yield move


class Search(Struct):
    """One search.

    Attributes:
        evaluate: Evaluates a point.
        space: The options.
        is_over: Whether to stop for lack of time.
        unrelated: The error of an answer that has nothing to do with the one wanted; infinite if it
            is unknown.
        is_late: Whether to stop if all answers so far are no nearer than that.
        begin: Called with the name of each stage of the search.
        count: Evaluations made.
    """

    evaluate: Evaluate
    space: Space
    is_over: Callable[[], bool]
    unrelated: float = math.inf
    is_late: Callable[[], bool] = lambda: True
    begin: Callable[[str], None] = lambda _: None
    count: int = 0
    _least: float = math.inf
    _known: dict[Point, Trial] = field(default_factory=dict)

    def trial(self, point: Point) -> Trial:
        """The evaluation of a point; each is made once."""
        if point not in self._known:
            self.count += 1
            self._known[point] = self.evaluate(point)
            self._least = min(self._least, self._known[point].error)
        return self._known[point]

    def known(self, point: Point) -> Trial | None:
        """The evaluation of a point; None if it was not made."""
        return self._known.get(point)

    def _ends(self) -> bool:
        """Whether to stop for lack of time, or because all answers so far are unrelated ones."""
        is_far = self.count >= _FAR and self.unrelated <= self._least < math.inf
        return (is_far and self.is_late()) or self.is_over()

    def run(
        self,
        starts: Sequence[Point],
        free: frozenset[int] | None = None,
        further: Sequence[Point] = (),
    ) -> Point:
        """The best point found.

        Args:
            starts: The points to begin with, the first of them as the model is.
            free: The operators that may change; all if None.
            further: Points of which the nearest are followed last, unless one is right.
        """
        free = frozenset(range(len(self.space.tiers))) if free is None else free
        ranked = []
        self.begin("conventions")
        for start in dict.fromkeys(starts):
            ranked.append(start)
            if self.trial(start).solved:
                return start
            if self._ends():
                break
        first = ranked[0]
        self.begin("combinations")
        for point in self.space.likely(first, free):
            if self._ends():
                break
            ranked.append(point)
            if self.trial(point).solved:
                return point
        last: list[Point] = []
        self.begin("recorded sizes")
        for point in further:
            if self._ends():
                break
            last.append(point)
            if self.trial(point).solved:
                return point
        last.sort(key=self._rank)
        ranked.sort(key=self._rank)
        best = ranked[0]
        if self.trial(best).rank > (True, 0.0, self.trial(first).error * _CLEARLY):
            ranked = [first, *(each for each in ranked if each != first)]
        self.begin("moves")
        for start in dict.fromkeys((*ranked[:_STARTS], *last[:_STARTS])):
            best = min(best, self._descend(start, free), key=self._rank)
            if self.trial(best).solved or self._ends():
                return best
        self.begin("pairs")
        return self._two(first, best, free, _MOST_PAIRS)

    def pruned(
        self,
        point: Point,
        free: frozenset[int] | None = None,
        is_enough: Callable[[Trial], bool] | None = None,
    ) -> Point:
        """A point with as many operators as they were as it stays good enough with.

        Halves of the changed operators are put back first, then smaller parts.

        Args:
            point: The point.
            free: The operators that may be put back; all if None.
            is_enough: Whether a trial is good enough; by default one that is solved, and that does
                not fit clearly worse, though it be within what is allowed.
        """
        self.begin("putting back")
        most = 2 * self.trial(point).error + _ROUNDING
        is_enough = is_enough or (lambda trial: trial.solved and trial.error <= most)
        parts = [
            [each for each, option in enumerate(point) if option and (free is None or each in free)]
        ]
        while parts:
            part = parts.pop()
            if not part or self._ends():
                continue
            without = list(point)
            for each in part:
                without[each] = 0
            if is_enough(self.trial(tuple(without))):
                point = tuple(without)
            elif len(part) > 1:
                half = len(part) // 2
                parts += [part[:half], part[half:]]
        return point

    def _rank(self, point: Point) -> tuple[bool, float, float]:
        return self.trial(point).rank

    def _descend(self, point: Point, free: frozenset[int]) -> Point:
        """Follows moves that help until none does.

        The effect of a move, once seen, foretells what it does from here. So the moves that promise
        most are tried first, then moves never tried, likely mistakes first, then all the others.
        """
        seen: dict[Move, Effect] = {}
        while not self._ends() and not self.trial(point).solved:
            ahead = None
            for batch in self._batches(point, free, seen):
                tried = self._tried(point, batch, seen)
                found = self._best(point, self._joint(point, tried, seen)) if tried else None
                if found is not None and (ahead is None or self._rank(found) < self._rank(ahead)):
                    ahead = found
                now, then = self.trial(point), self.trial(ahead or point)
                if self._ends() or then.solved or then.error < _NEARER * now.error:
                    break
            if ahead is None:
                ahead = self._best(point, self._pairs(point, seen))
            if ahead is None:
                return point
            point = ahead
        return point

    def _batches(
        self, point: Point, free: frozenset[int], seen: Mapping[Move, Effect]
    ) -> Iterator[list[Move]]:
        """The moves from a point in the order in which they are to be tried."""
        every = [[*self.space.moves(point, tier, free)] for tier in range(self.space.deepest + 1)]
        possible = set(every[-1])
        known = {
            move: effect for move, effect in seen.items() if effect is not None and move in possible
        }
        foretold = self._foretold(point, known)
        yield foretold[:_AGAIN]
        for moves in every:
            yield [move for move in moves if move not in seen]
        for begin in range(_AGAIN, len(foretold), _BATCH):
            yield foretold[begin : begin + _BATCH]

    def _foretold(
        self, point: Point, effects: Mapping[Move, npt.NDArray[np.float64]]
    ) -> list[Move]:
        """Moves with effects, the one first that promises to leave least."""
        missing = self.trial(point).missing
        if missing is None:
            return [*effects]
        left = {move: float(np.linalg.norm(missing - effect)) for move, effect in effects.items()}
        return sorted(effects, key=lambda move: (left[move], move))

    def _tried(self, point: Point, moves: Iterable[Move], seen: dict[Move, Effect]) -> list[Move]:
        """Tries moves from a point and notes their effects, up to one that solves."""
        found: list[Move] = []
        now = self.trial(point).missing
        for move in moves:
            target = _moved(point, move)
            then = self.trial(target)
            found.append(move)
            missing = then.missing
            seen[move] = None
            if missing is not None and now is not None and missing.shape == now.shape:
                seen[move] = now - missing
            if then.solved or self._ends():
                break
        return found

    def _best(self, point: Point, targets: Iterable[Point]) -> Point | None:
        best = min(targets, key=self._rank, default=point)
        return best if _is_better(self.trial(best), self.trial(point)) else None

    def _joint(
        self, point: Point, tried: Sequence[Move], seen: Mapping[Move, Effect]
    ) -> Iterator[Point]:
        """The best point of single moves, and points that several reach, by their effects."""
        best = min((_moved(point, move) for move in tried), key=self._rank)
        yield best
        wanted = self.trial(point).missing
        if wanted is None or self.trial(best).solved:
            return
        moves, effects = _stacked(point, seen)
        if not moves:
            return
        order = _by_fit(effects, wanted, moves)
        for length in _lengths(len(order)):
            if self._ends():
                return
            target = _joined(point, [moves[each] for each in order[:length]])
            yield target
            if self.trial(target).solved:
                return

    def _pairs(self, point: Point, seen: Mapping[Move, Effect]) -> Iterator[Point]:
        """Points reached by two moves, those that promise most."""
        missing = self.trial(point).missing
        if missing is None:
            return
        moves, effects = _stacked(point, seen)
        if not moves:
            return
        gram, along = effects @ effects.T, effects @ missing
        alone = gram.diagonal() - 2 * along
        left = alone[:, None] + alone[None, :] + 2 * gram
        left[np.tril_indices(len(moves))] = math.inf
        for flat in np.argsort(left, axis=None)[:_PAIRED]:
            one, other = (moves[each] for each in divmod(int(flat), len(moves)))
            if self._ends():
                return
            if _are_apart(one, other):
                target = _moved(_moved(point, one), other)
                yield target
                if self.trial(target).solved:
                    return

    def _two(self, first: Point, best: Point, free: frozenset[int], most: int) -> Point:
        """The best of all pairs of moves from the first point, likely ones first, up to a limit.

        Two that mend only together, as where each alone gives a branch another size, are such. So
        they come first.
        """
        for tier in range(self.space.deepest + 1):
            moves = [*self.space.moves(first, tier, free)]
            known = {move: self._known.get(_moved(first, move)) for move in moves}
            moves.sort(key=lambda move: (told := known[move]) is None or told.missing is not None)
            pairs = (pair for pair in combinations(moves, 2) if _are_apart(*pair))
            for one, other in islice(pairs, most):
                if self._ends() or self.trial(best).solved:
                    return best
                best = min(best, _moved(_moved(first, one), other), key=self._rank)
        return best


def _stacked(
    point: Point, seen: Mapping[Move, Effect]
) -> tuple[list[Move], npt.NDArray[np.float64]]:
    """The moves from a point that have an effect, with their effects, a row each."""
    found = [
        (move, effect)
        for move, effect in seen.items()
        if effect is not None and effect.any() and _moved(point, move) != point
    ]
    return [move for move, _ in found], np.stack([effect for _, effect in found] or [np.zeros(0)])


def _moved(point: Point, move: Move) -> Point:
    changed = list(point)
    for each, option in move:
        changed[each] = option
    return tuple(changed)


def _are_apart(one: Move, other: Move) -> bool:
    """Whether no operator is in both moves."""
    return {each for each, _ in one}.isdisjoint(each for each, _ in other)


def _joined(point: Point, moves: Iterable[Move]) -> Point:
    """The point after several moves; where two change one operator, the first one counts."""
    changed: dict[int, int] = {}
    for move in moves:
        for each, option in move:
            changed.setdefault(each, option)
    return _moved(point, tuple(changed.items()))


def _lengths(count: int) -> Iterator[int]:
    """The whole, half of it, a quarter, ..., 1."""
    while count:
        yield count
        count //= 2


def _is_better(found: Trial, now: Trial) -> bool:
    if found.solved or found.gap < now.gap:
        return True
    return found.gap == now.gap and found.error < now.error * (1 - _BETTER)


def _by_fit(
    effects: npt.NDArray[np.float64], wanted: npt.NDArray[np.float64], moves: Sequence[Move]
) -> list[int]:
    """Moves in the order in which each, added to those before, explains most of what is missing."""
    order: list[int] = []
    taken: set[int] = set()
    left = wanted.copy()
    sizes = np.einsum("ij,ij->i", effects, effects)
    while len(order) < len(moves):
        gains = 2 * effects @ left - sizes
        for each, move in enumerate(moves):
            if each in order or not taken.isdisjoint(place for place, _ in move):
                gains[each] = -math.inf
        best = int(np.argmax(gains))
        if not gains[best] > 0:
            break
        order.append(best)
        taken.update(place for place, _ in moves[best])
        left = left - effects[best]
    return order
