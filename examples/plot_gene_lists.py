"""
How stable are the gene lists that I have?
==========================================

Sometimes the selections have already been made, in eight studies or by eight pipelines, and only the lists of names
are available. A list of lists is enough for a stability, an interval and a test.
"""

# %%
# Eight lists
# -----------
# Invented lists, as eight groups that worked with the same panel of 200 genes might report them.

from skstab import (
    SelectionFrequencyDisplay,
    stability_interval,
    stability_test,
    supports_from_sets,
)

LISTS = [
    "TP53 MYC EGFR BRCA1 PTEN KRAS CDK4 RB1",
    "TP53 MYC EGFR BRCA1 PTEN VEGFA MDM2",
    "TP53 MYC BRCA1 PTEN KRAS CDK4 NOTCH1 ATM",
    "TP53 EGFR BRCA1 KRAS JAK2 RB1",
    "TP53 MYC EGFR BRCA1 PTEN CDK4 ERBB2 FLT3 RB1",
    "TP53 MYC EGFR PTEN SMAD4 KRAS",
    "TP53 MYC EGFR BRCA1 PTEN CDK4 RB1 STK11",
    "MYC EGFR BRCA1 PIK3CA PTEN KRAS TERT",
]
lists = [set(genes.split()) for genes in LISTS]
named = sorted(set.union(*lists))
print(
    f"{len(lists)} lists of {min(map(len, lists))} to {max(map(len, lists))} genes, {len(named)} genes in all"
)

# %%
# A table, a number, an interval
# ------------------------------
# All genes that *could* have been chosen belong in the table, not only those that were: agreement on 8 of 200 is
# less likely by chance than on 8 of 20. The names of the others do not matter.

panel = named + [f"other {number}" for number in range(200 - len(named))]
supports = supports_from_sets(lists, panel)
interval = stability_interval(supports)
print(
    f"stability {interval.estimate:.2f}, 95% interval from {interval.low:.2f} to {interval.high:.2f}"
)
print(
    f"p-value for 'not above 0.4, poor agreement': {stability_test(supports, threshold=0.4).pvalue:.2g}"
)

# %%
# Other measures, and how they depend on the number of genes. `jaccard` does not use the genes that nobody chose.

for measure in ("nogueira", "jaccard"):
    for n_genes in (len(named), 200, 20_000):
        genes = named + [f"other {number}" for number in range(n_genes - len(named))]
        found = stability_interval(supports_from_sets(lists, genes), measure=measure)
        print(
            f"{measure:<9} {n_genes:6} genes: {found.estimate:.2f} ({found.low:.2f} to {found.high:.2f})"
        )

# %%
# Which genes to follow up?
# -------------------------

display = SelectionFrequencyDisplay.from_supports(
    supports, feature_names=panel, threshold=0.5
)
_ = display.plot(top_k=len(named))
core = display.frame().query("low > 0.5")["feature"]
print(f"in most lists, with a lower limit above one half: {', '.join(core)}")

# %%
# **Answer**: moderately, 0.60 with an interval from 0.46 to 0.74: eight lists are few. That is more than poor
# agreement. Five genes are in seven of the eight lists; eleven were named once, and are only candidates. The number
# of genes that could have been chosen matters: with only those on the lists the stability would appear to be 0.37.
