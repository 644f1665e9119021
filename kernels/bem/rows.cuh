// What a matrix over panels has beyond potentials of panels without images: rows of other kinds,
// images, needs of charges in space. CPU twins: crates/bem/src/near/pairs.rs,
// geometry/panels.rs and near/needs.rs.
#pragma once
#include "triangle.cuh"

// GENERAL 0: potentials of panels without images, and no Rows are given.
#ifndef GENERAL
#error macro GENERAL (0 or 1) is missing
#endif

// Node of the tree of panels: box around their centroids, and the farthest that any of them looks.
struct Node {
    Vec low, high;
    double reach;
};

// How far a place is outside of a node's box, squared.
__device__ __forceinline__ double outside2(const Node& node, Vec x) {
    return norm2(Vec{fmax(fmax(node.low.x - x.x, x.x - node.high.x), 0.0), fmax(fmax(node.low.y - x.y, x.y - node.high.y), 0.0),
                     fmax(fmax(node.low.z - x.z, x.z - node.high.z), 0.0)});
}

// An image: x_k becomes scale_k x_k + shift_k.
struct Image {
    double scale[3], shift[3], factor;
};

// What charges in space induce on a panel, and what errors in its row count.
struct Need {
    double density, around, row;
};

struct Rows {
    const double* areas;
    const u32* kinds;
    const Need* needs;  // or null
    const Image* images;
    u64 image_count;
    double angles;          // accuracy of solid angles
    const double* factors;  // [images][panels]
    u64 panels;
};

__device__ __forceinline__ Corners load(const double* vertices, u32 i) {
    const double* p = vertices + 9 * (u64)i;
    return {{{p[0], p[1], p[2]}, {p[3], p[4], p[5]}, {p[6], p[7], p[8]}}};
}

__device__ __forceinline__ u32 kind_of(const Rows* rows, u32 i) { return GENERAL ? rows->kinds[i] : SINGLE; }

__device__ __forceinline__ u32 images_of(const Rows* rows) { return GENERAL ? (u32)rows->image_count : 1; }

// What charges of panel i are multiplied by in image g: 0 where the panel lies on that image.
__device__ __forceinline__ double factor_of(const Rows* rows, u32 g, u32 i) {
    return GENERAL ? rows->factors[g * rows->panels + i] : 1.0;
}

// Whether there is anything in the entries of panel i and image g of panel j.
__device__ __forceinline__ bool act(const Rows* rows, u32 g, u32 i, u32 j) {
    return factor_of(rows, g, i) != 0.0 || factor_of(rows, g, j) != 0.0;
}

__device__ __forceinline__ Vec reflected(const Rows* rows, u32 g, Vec x) {
    if (!GENERAL || g == 0) return x;
    const Image& image = rows->images[g];
    return {image.scale[0] * x.x + image.shift[0], image.scale[1] * x.y + image.shift[1],
            image.scale[2] * x.z + image.shift[2]};
}

// Image g of a panel. One that is mirrored is run around the other way.
__device__ __forceinline__ Corners image_of(const Rows* rows, u32 g, const Corners& t) {
    if (!GENERAL || g == 0) return t;
    const Image& image = rows->images[g];
    Corners out = {{reflected(rows, g, t.v[0]), reflected(rows, g, t.v[1]), reflected(rows, g, t.v[2])}};
    if (image.scale[0] * image.scale[1] * image.scale[2] < 0.0) {
        Vec b = out.v[1];
        out.v[1] = out.v[2];
        out.v[2] = b;
    }
    return out;
}

__device__ __forceinline__ Vec normal_of(const Corners& t) { return triangle_of(t).n; }

// What an error of the entry of panel `row` with panel `column` counts; charges and parts as in
// panels.rs (weights).
__device__ __forceinline__ double weight_of(const Rows* rows, const double* charges, const u32* parts, u32 row, u32 column) {
    const double* sizes = GENERAL && kind_of(rows, row) != SINGLE ? rows->areas : charges;
    double weight = parts[row] == parts[column] ? sqrt(sizes[row] * sizes[column]) : sizes[column];
    if (GENERAL && rows->needs) {
        Need need = rows->needs[column];
        double own = fmin(rows->areas[column], need.around), other = fmin(rows->areas[row], need.around);
        weight = fmax(weight, need.density * sqrt(own * fmax(other, own)) * rows->needs[row].row);
    }
    return weight;
}
