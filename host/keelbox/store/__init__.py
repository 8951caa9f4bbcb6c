"""What must survive the process: one schema (`schema`), one code path (`database`), SQLite files (`sqlite`).

All but `records` import SQLAlchemy (some 170 ms): import them inside the function that needs them.
"""
