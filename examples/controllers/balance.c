/* Holds up the rod of balance.toml: a controller in step with the simulation, over a socket. POSIX and C99, no library.
 *
 *     cc -std=c99 -o balance balance.c
 *     gelenk serve balance.toml --rate 500 --port 8123        prints {"address":"127.0.0.1:8123","token":"..."}
 *     ./balance 8123 TOKEN
 */
#define _POSIX_C_SOURCE 200809L
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { RATE = 500, SECONDS = 3 };

/* The number that follows a key, from a place in the line on; the program ends where there is none. */
static double number(const char *from, const char *key)
{
    const char *at = from ? strstr(from, key) : NULL;
    char *end;
    double value;
    if (!at) {
        fprintf(stderr, "no %s in the line\n", key);
        exit(1);
    }
    at += strlen(key);
    value = strtod(at, &end);
    if (end == at) {
        fprintf(stderr, "%s is no number\n", key);
        exit(1);
    }
    return value;
}

int main(int argc, char **argv)
{
    char line[65536], *joint;
    struct sockaddr_in place;
    int handle, one = 1, turn;
    FILE *in, *out;

    if (argc != 3) {
        fprintf(stderr, "usage: %s PORT TOKEN\n", argv[0]);
        return 2;
    }
    memset(&place, 0, sizeof place);
    place.sin_family = AF_INET;
    place.sin_port = htons((unsigned short)atoi(argv[1]));
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    handle = socket(AF_INET, SOCK_STREAM, 0);
    if (handle < 0 || connect(handle, (struct sockaddr *)&place, sizeof place) != 0) {
        perror("connect");
        return 1;
    }
    setsockopt(handle, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    in = fdopen(handle, "r");
    out = fdopen(dup(handle), "w");
    if (!in || !out) {
        perror("fdopen");
        return 1;
    }
    fprintf(out, "{\"token\": \"%s\"}\n", argv[2]);
    fflush(out);

    /* The hello has the start; then a line for each turn. */
    for (turn = 0; turn <= RATE * SECONDS; turn++) {
        double angle, rate;
        if (!fgets(line, sizeof line, in) || strstr(line, "\"error\"")) {
            fprintf(stderr, "the simulation has ended: %s\n", line);
            return 1;
        }
        joint = strstr(line, "\"start\":");
        joint = strstr(joint ? joint : line, "\"pivot\":");
        angle = number(joint, "\"angle\":");
        rate = number(joint, "\"rate\":");
        if (turn == RATE * SECONDS) {
            printf("angle = %.2e rad\n", angle);
            return !(angle < 1e-3 && angle > -1e-3);
        }
        fprintf(out, "{\"inputs\": {\"torque\": %.17g}}\n", -20 * angle - 4 * rate);
        fflush(out);
    }
    return 0;
}
