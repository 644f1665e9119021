// Two plates of 20 x 20 x 1, 2 apart: the capacitor of docs/user-guide.md. Tests refine it.
// gmsh -2 -format msh41 -bin capacitor.geo
SetFactory("OpenCASCADE");
Box(1) = {-10, -10, 1, 20, 20, 1};
Box(2) = {-10, -10, -2, 20, 20, 1};
top() = Boundary{ Volume{1}; };
bottom() = Boundary{ Volume{2}; };
Physical Surface("top") = {top()};
Physical Surface("bottom") = {bottom()};
Mesh.MeshSizeMax = 2;
