"""Nights of an export by status: copy the part of the reader that you like."""

# DuckDB
import duckdb

nights = duckdb.sql("FROM 'portland-tables/nights.parquet'")
print(duckdb.sql("SELECT status, count(*) FROM nights WHERE valid_to IS NULL GROUP BY ALL"))

# pandas
import pandas

nights = pandas.read_parquet('portland-tables/nights.parquet', dtype_backend='numpy_nullable')
print(nights[nights.valid_to.isna()].groupby('status').size())

# Polars
import polars

nights = polars.read_parquet('portland-tables/nights.parquet')
print(nights.filter(polars.col('valid_to').is_null()).group_by('status').len())

# pyarrow
import pyarrow.compute
import pyarrow.parquet

nights = pyarrow.parquet.read_table('portland-tables/nights.parquet')
in_force = nights.filter(pyarrow.compute.field('valid_to').is_null())
print(in_force.group_by('status').aggregate([([], 'count_all')]))
