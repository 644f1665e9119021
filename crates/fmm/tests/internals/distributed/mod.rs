mod curve;
mod work;
