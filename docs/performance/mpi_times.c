/* Processor time of each rank outside of MPI's calls, and what it sends: one line a rank to stderr when MPI ends.

   mpicc -shared -fPIC -O2 -o mpi_times.so docs/performance/mpi_times.c
   mpirun -n 16 -x LD_PRELOAD=$PWD/mpi_times.so farad fmm bench ...

   The clock is that of the process, all threads together: it stands while other processes have the core, so that ranks may
   be more than cores. What a rank burns while it waits in MPI does not count. */

#include <mpi.h>
#include <stdio.h>
#include <time.h>

static double since, computing, sent;
static long messages, collectives;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

static void enter(void) { computing += now() - since; }

static int leave(int code) {
    since = now();
    return code;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
    return leave(PMPI_Init_thread(argc, argv, required, provided));
}

int MPI_Isend(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm group, MPI_Request *request) {
    int size;
    enter();
    PMPI_Type_size(type, &size);
    sent += (double)count * size;
    messages += 1;
    return leave(PMPI_Isend(data, count, type, to, tag, group, request));
}

int MPI_Irecv(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm group, MPI_Request *request) {
    enter();
    return leave(PMPI_Irecv(data, count, type, from, tag, group, request));
}

int MPI_Wait(MPI_Request *request, MPI_Status *status) {
    enter();
    return leave(PMPI_Wait(request, status));
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status) {
    enter();
    return leave(PMPI_Test(request, flag, status));
}

int MPI_Alltoall(const void *from, int n, MPI_Datatype type, void *to, int m, MPI_Datatype other, MPI_Comm group) {
    enter();
    collectives += 1;
    return leave(PMPI_Alltoall(from, n, type, to, m, other, group));
}

int MPI_Allgather(const void *from, int n, MPI_Datatype type, void *to, int m, MPI_Datatype other, MPI_Comm group) {
    enter();
    collectives += 1;
    return leave(PMPI_Allgather(from, n, type, to, m, other, group));
}

int MPI_Allgatherv(const void *from, int n, MPI_Datatype type, void *to, const int *counts, const int *starts,
                   MPI_Datatype other, MPI_Comm group) {
    enter();
    collectives += 1;
    return leave(PMPI_Allgatherv(from, n, type, to, counts, starts, other, group));
}

int MPI_Bcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm group) {
    enter();
    collectives += 1;
    return leave(PMPI_Bcast(data, count, type, root, group));
}

int MPI_Allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op operation, MPI_Comm group) {
    enter();
    collectives += 1;
    return leave(PMPI_Allreduce(from, to, count, type, operation, group));
}

int MPI_Barrier(MPI_Comm group) {
    enter();
    return leave(PMPI_Barrier(group));
}

int MPI_Finalize(void) {
    int rank;
    enter();
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    fprintf(stderr, "rank %d computing %.6f messages %ld bytes %.0f collectives %ld\n", rank, computing, messages, sent,
            collectives);
    return PMPI_Finalize();
}
