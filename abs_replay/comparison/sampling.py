"""A part that stands for the whole: of each kind as large a share as there is of it."""

import random
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence


def stratified[T](things: Sequence[T], kind: Callable[[T], Hashable], count: int, seed: int) -> list[T]:
    """Give `count` things in an order of chance, the same for the same seed.

    What does not come out even goes to the kinds with the largest remainders. What is left of the kinds'
    shares in the sample is theirs in the whole, so rates in it need no weights.
    """
    chance = random.Random(seed)
    kinds: defaultdict[Hashable, list[T]] = defaultdict(list)
    for thing in things:
        kinds[kind(thing)].append(thing)
    count = min(count, len(things))
    shares = {each: count * len(members) / len(things) for each, members in kinds.items()}
    sizes = {each: int(share) for each, share in shares.items()}
    by_remainder = sorted(kinds, key=lambda each: sizes[each] - shares[each])
    for each in by_remainder[: count - sum(sizes.values())]:
        sizes[each] += 1
    chosen = [thing for each, members in kinds.items() for thing in chance.sample(members, sizes[each])]
    chance.shuffle(chosen)
    return chosen
