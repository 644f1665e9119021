mod class;
mod series;
mod treecode;
