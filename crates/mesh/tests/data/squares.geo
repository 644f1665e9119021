// Two squares that share an edge, in overlapping physical groups, one of them with the opposite orientation.
// Each squares_*.msh was made by Gmsh 4.15 from this file:
//   v22.msh              gmsh -2 -format msh22 squares.geo
//   v22_binary.msh       gmsh -2 -format msh22 -bin squares.geo
//   v41.msh              gmsh -2 -format msh41 squares.geo
//   v41_binary.msh       gmsh -2 -format msh41 -bin squares.geo
//   v22_parametric.msh   gmsh -2 -format msh22 -bin -parametric squares.geo
//   v41_parametric.msh   gmsh -2 -format msh41 -parametric squares.geo
//   v41_partitioned.msh  gmsh -2 -format msh41 -part 2 -part_ghosts squares.geo
//   v22_partitioned.msh  gmsh -2 -format msh22 -part 2 -part_ghosts squares.geo
//   v41_second_order.msh gmsh -2 -format msh41 -bin -order 2 squares.geo
//   v22_quadrangles.msh  gmsh -2 -format msh22 -order 2 -setnumber Mesh.RecombineAll 1 squares.geo
//   v40.msh              gmsh -2 -format msh40 squares.geo
SetFactory("OpenCASCADE");
Rectangle(1) = {0, 0, 0, 1, 1};
Rectangle(2) = {1, 0, 0, 1, 1};
Coherence;
MeshSize{:} = 0.6;
Physical Surface("first", 5) = {1};
Physical Surface("turned", 6) = {-2};
Physical Surface("second half", 7) = {-2};
Physical Surface(8) = {1};
Physical Curve("edge", 5) = {1};
