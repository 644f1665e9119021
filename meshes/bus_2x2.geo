// Two bars of 1 x 1 x 5 crossing two others, 1 apart, in quadrangles that Farad splits.
// gmsh -2 -format msh22 -bin bus_2x2.geo
SetFactory("OpenCASCADE");
Box(1) = {-2.5, -1.5, -1.5, 5, 1, 1};
Box(2) = {-2.5,  0.5, -1.5, 5, 1, 1};
Box(3) = {-1.5, -2.5,  0.5, 1, 5, 1};
Box(4) = { 0.5, -2.5,  0.5, 1, 5, 1};
Mesh.MeshSizeMax = 0.3;
Mesh.RecombineAll = 1;
Mesh.Algorithm = 8;
x1() = Boundary{ Volume{1}; };
x2() = Boundary{ Volume{2}; };
y1() = Boundary{ Volume{3}; };
y2() = Boundary{ Volume{4}; };
Physical Surface("bar_x1", 1) = {x1()};
Physical Surface("bar_x2", 2) = {x2()};
Physical Surface("bar_y1", 3) = {y1()};
Physical Surface("bar_y2", 4) = {y2()};
