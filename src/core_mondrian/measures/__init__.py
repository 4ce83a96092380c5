"""What was lost and what is at risk.

utility               information loss: NCP, discernibility, and the rest
quality               the share of a loss that good and bad releases have
cells                 loss of single cells
groups                loss by group
association           associations between columns, before and after
risk                  re-identification risk, before and after
savings               what one cut saved
changed               what differs between two releases
disclosure_warnings   columns that pass through and may identify people
row_sample            the rows that these warnings look at
leakage               what a column reveals of generalized ones
column_warnings       columns of the wrong type, or that show nothing any more
target_weights        how well each column predicts the one that a model is to predict
"""
