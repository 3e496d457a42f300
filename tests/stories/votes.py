"""Makes votes.csv: members of a parliament, and how they voted, drawn at random, like house-votes-84."""

import csv
import random

HEADER = ("water", "budget", "fees", "missile", "crime", "party")


def votes(n, seed):
    draw = random.Random(seed)
    for _ in range(n):
        water, budget, fees, missile, crime = (draw.random() < 0.5 for _ in range(5))
        right = (crime if fees else water) != (draw.random() < 0.06)
        yield *("ny"[vote] for vote in (water, budget, fees, missile, crime)), "right" if right else "left"


with open("votes.csv", "w", newline="", encoding="utf-8") as file:
    csv.writer(file).writerows([HEADER, *votes(90, 5)])
