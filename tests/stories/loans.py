"""Makes loans.csv, later.csv and codebook.csv: loans of a bank as codes, drawn at random, like German credit."""

import csv
import random

HEADER = ("id", "laufkont", "laufzeit", "moral", "hoehe", "famges", "kredit")
CODEBOOK = """column,value,text
laufkont,,checking account
laufkont,1,overdrawn
laufkont,2,below 200 DM
laufkont,3,200 DM or more
laufkont,4,none
laufzeit,,duration in months
moral,,payment history
moral,0,late before
moral,2,paid back so far
moral,4,"paid back, elsewhere too"
hoehe,,amount in DM
famges,,sex
famges,1,women
famges,2,men
kredit,,standing
kredit,1,good customers
kredit,2,bad customers
"""


def loans(n, seed, shift=0.0):
    draw = random.Random(seed)
    for number in range(1, n + 1):
        account = draw.choices((1, 2, 3, 4), (27, 27, 6, 40))[0]
        months, history = draw.choice((6, 12, 18, 24, 36, 48)), draw.choices((0, 2, 4), (10, 60, 30))[0]
        amount, sex = 100 * draw.randint(3, 120), draw.choice((1, 2))
        risk = (0.35, 0.25, 0.1, 0.05)[account - 1] + 0.3 * (months > 24) + 0.3 * (history == 0) - 0.1 * (history == 4)
        yield number, account, months, history, amount, sex, 2 if draw.random() < risk + shift else 1


def main():
    for name, rows in (("loans.csv", loans(500, 7)), ("later.csv", loans(300, 2, 0.05))):
        with open(name, "w", newline="") as stream:
            csv.writer(stream).writerows([HEADER, *rows])
    with open("codebook.csv", "w") as stream:
        stream.write(CODEBOOK)


if __name__ == "__main__":
    main()
