// Two spheres of radius 1 with centres 3 apart; about 1500 triangles.
// gmsh -2 -format msh22 two_spheres.geo
SetFactory("OpenCASCADE");
Sphere(1) = {-1.5, 0, 0, 1};
Sphere(2) = {1.5, 0, 0, 1};
MeshSize{:} = 0.21;
Mesh.MeshSizeMax = 0.21;
left() = Boundary{ Volume{1}; };
right() = Boundary{ Volume{2}; };
Physical Surface("left", 1) = {left()};
Physical Surface("right", 2) = {right()};
