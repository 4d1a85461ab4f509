export declare function openProgram(): Promise<string>;
