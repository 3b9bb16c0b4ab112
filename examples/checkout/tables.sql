CREATE TABLE IF NOT EXISTS stock (item text PRIMARY KEY, pieces integer NOT NULL CHECK (pieces >= 0));
CREATE TABLE IF NOT EXISTS orders (id serial PRIMARY KEY, item text NOT NULL REFERENCES stock, pieces integer NOT NULL);
