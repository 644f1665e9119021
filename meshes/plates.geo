// A capacitor of two thin plates, 10 x 6 and 1 apart, with elements that shrink toward the edges.
// gmsh -2 -format msh41 -bin plates.geo
SetFactory("OpenCASCADE");
Rectangle(1) = {-5, -3, -0.5, 10, 6};
Rectangle(2) = {-5, -3, 0.5, 10, 6};
Transfinite Curve{1, 3, 5, 7} = 33 Using Bump 0.1;
Transfinite Curve{2, 4, 6, 8} = 23 Using Bump 0.1;
Transfinite Surface{1, 2} Alternate;
Physical Surface("lower", 1) = {1};
Physical Surface("upper", 2) = {2};
