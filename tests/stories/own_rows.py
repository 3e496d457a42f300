"""A rule of one's own in a model, for any solver: the root must not split on the vote on fees."""

import odtc

model = odtc.build("votes.csv", "flowoct", depth=2)
print(model.splits)
print(model["b"]["fees"])

own = model.add_rows([dict.fromkeys(model["b"][1, "fees"], 1.0)], upper=0, names=["no_fees_at_the_root"])
odtc.write_build(own, "own")
decoded = odtc.decode(own, odtc.solve(own, time_limit=60))
print(decoded.solution.termination, "for", decoded.solution.scope)
print("verified" if decoded.verified else "wrong")

free = odtc.decode(model, "flow.sol")  # that of `odtc solve`
print("the rule costs something:", free.solution.objective < decoded.solution.objective)
print("and is satisfied:", "fees" not in str(decoded.tree.root.split.words(decoded.tree.features)))
try:
    model.add_rows([{"b_1_0": 1.0}])
except odtc.OdtcError as error:
    print(error)
